# y[m, n] = sum over k of x[m, k] * w[n, k], all 512. Tiles of 128 x 128; the reduction comes in four parts of 128.
# x crosses from DRAM once and stays in l1 as a tensor; a slice of weights stays while all rows pass under it.
# Parts of the reduction are announced one by one, so that the array starts when the first 32 KiB are there.
program gemm_stationary on edge_npu
layer y

tensor x         in dram at 0      bytes 262144 dtype int8 role inputs  shape [512, 512] preloaded scale 2^-5
tensor y.weights in dram at 262144 bytes 262144 dtype int8 role weights shape [512, 512] preloaded scale 2^-8
tensor y         in dram at 524288 bytes 262144 dtype int8 role inputs  shape [512, 512] scale 2^-4
tensor x.kept    in l1   at 0      bytes 262144 dtype int8 role inputs  shape [512, 512] scale 2^-5

ring w.slice in l1  at 262144 slots 2 bytes 65536 dtype int8  role weights  scale 2^-8  writer load   readers array
ring sums    in acc at 0      slots 2 bytes 65536 dtype int32 role partials scale 2^-13 writer array  readers vector
ring y.tile  in l1  at 393216 slots 2 bytes 16384 dtype int8  role outputs  scale 2^-4  writer vector readers store

semaphore x.part  # 128 rows x 128 of the reduction lie in l1
semaphore w.part  # a further part of the current slice of weights lies in l1; the first one is w.slice.full

queue load engine load unit dma:
    for n in 4:
        for k in 4:
            MOVE y.load_w [c=128, p=128] role weights wait w.slice.free if first(k)
                src y.weights{c:512, p:1}+65536*n+128*k dst w.slice{c:512, p:1}+128*k
                signal w.slice.full if first(k), w.part if !first(k)
            MOVE y.load_x0 [r=128, p=128] role inputs when first(n)
                src x{r:512, p:1}+128*k dst x.kept{r:512, p:1}+128*k signal x.part
        for m in 3:
            for q in 4:
                MOVE y.load_x [r=128, p=128] role inputs when first(n)
                    src x{r:512, p:1}+65536*m+128*q+65536 dst x.kept{r:512, p:1}+65536*m+128*q+65536 signal x.part

queue array engine array unit mxu:
    for n in 4:
        for m in 4:
            for k in 4:
                MATMUL y.matmul [r=128, c=128, p=128] role partials nest m(r) n(c) k(p) fresh first(k)
                    dtypes int8, int8
                    wait w.slice.full if first(m) & first(k), w.part if first(m) & !first(k)
                    wait x.part if first(n), sums.free if first(k)
                    a x.kept{r:512, p:1}+65536*m+128*k b w.slice{c:512, p:1}+128*k acc sums{r:512, c:4}
                    signal w.slice.free if last(m) & last(k), sums.full if last(k)

queue vector engine vector unit vpu:
    for n in 4:
        for m in 4:
            VECTOR y.drain [r=128, c=128] role outputs function requantise passes 1 dtypes int8
                wait sums.full, y.tile.free in0 sums{r:512, c:4} out y.tile{r:128, c:1}
                signal sums.free, y.tile.full

queue store engine store unit dma:
    for n in 4:
        for m in 4:
            MOVE y.store [r=128, c=128] role outputs wait y.tile.full
                src y.tile{r:128, c:1} dst y{r:512, c:1}+65536*m+128*n signal y.tile.free
