# Broken: the array does not wait for weights; it multiplies what was there before.
program gemm_hazard on edge_npu
layer y

tensor x         in dram at 0      bytes 262144 dtype int8 role inputs  shape [512, 512] preloaded scale 2^-5
tensor y.weights in dram at 262144 bytes 262144 dtype int8 role weights shape [512, 512] preloaded scale 2^-8
tensor y         in dram at 524288 bytes 262144 dtype int8 role inputs  shape [512, 512] scale 2^-4

ring x.tile   in l1  at 0      slots 2 bytes 65536 dtype int8  role inputs   scale 2^-5  writer load   readers array
ring w.tile   in l1  at 131072 slots 2 bytes 65536 dtype int8  role weights  scale 2^-8  writer load   readers array
ring sums     in acc at 0      slots 2 bytes 65536 dtype int32 role partials scale 2^-13 writer array  readers vector
ring y.tile   in l1  at 262144 slots 2 bytes 16384 dtype int8  role outputs  scale 2^-4  writer vector readers store

queue load engine load unit dma:
    for m in 4:
        for n in 4:
            MOVE y.load_x [r=128, k=512] role inputs wait x.tile.free
                src x{r:512, k:1}+65536*m dst x.tile{r:512, k:1} signal x.tile.full
            MOVE y.load_w [c=128, k=512] role weights wait w.tile.free
                src y.weights{c:512, k:1}+65536*n dst w.tile{c:512, k:1} signal w.tile.full

queue array engine array unit mxu:
    for m in 4:
        for n in 4:
            MATMUL y.matmul [r=128, c=128, k=512] role partials nest m(r) n(c) k(k) dtypes int8, int8
                wait x.tile.full, sums.free
                a x.tile{r:512, k:1} b w.tile{c:512, k:1} acc sums{r:512, c:4}
                signal x.tile.free, w.tile.free, sums.full

queue vector engine vector unit vpu:
    for m in 4:
        for n in 4:
            VECTOR y.drain [r=128, c=128] role outputs function requantise passes 1 dtypes int8
                wait sums.full, y.tile.free in0 sums{r:512, c:4} out y.tile{r:128, c:1}
                signal sums.free, y.tile.full

queue store engine store unit dma:
    for m in 4:
        for n in 4:
            MOVE y.store [r=128, c=128] role outputs wait y.tile.full
                src y.tile{r:128, c:1} dst y{r:512, c:1}+65536*m+128*n signal y.tile.free
