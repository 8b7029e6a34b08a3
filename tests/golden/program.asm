# Two layers on chip 'golden': a 3x3 convolution with padding, bias and relu, then a 1x1 convolution.
#
# conv1 works on strips of 5 output rows (the last one has 2). Two rows of each input strip stay in the ring as
# halo ('retain'), so every input row crosses from DRAM once. Output channels go in two halves of 8.
# conv2 starts on a strip of pixels as soon as conv1 has stored it ('y1.ready'); its accumulators lie where those
# of conv1 were, and wait for the last of them to be drained ('acc.drained').

program conv_pair on golden
layer conv1, conv2

tensor x  in dram at 0    bytes 1152 dtype int8  role inputs  shape [1, 12, 12, 8]  preloaded
tensor w1 in dram at 1152 bytes 1152 dtype int8  role weights shape [16, 3, 3, 8]   preloaded
tensor b1 in dram at 2304 bytes 64   dtype int32 role weights shape [16]            preloaded
tensor w2 in dram at 2368 bytes 128  dtype int8  role weights shape [8, 16]         preloaded
tensor y1 in dram at 2496 bytes 2304 dtype int8  role outputs shape [1, 12, 12, 16]
tensor y2 in dram at 4800 bytes 1152 dtype int8  role outputs shape [1, 12, 12, 8]

ring conv1.w   in l1  at 0    slots 1 bytes 1152 dtype int8  role weights
    writer core[0].load readers core[0].array
ring conv1.b   in l1  at 1152 slots 1 bytes 64   dtype int32 role weights
    writer core[0].load readers core[0].array
ring conv1.x   in l1  at 1216 slots 2 bytes 784  dtype int8  role inputs retain 224
    writer core[0].load readers core[0].array
ring conv1.y   in l1  at 2784 slots 2 bytes 480  dtype int8  role outputs
    writer core[0].vector readers core[0].store
ring conv2.w   in l1  at 3744 slots 1 bytes 128  dtype int8  role weights
    writer core[0].load readers core[0].array
ring conv2.x   in l1  at 3872 slots 2 bytes 960  dtype int8  role inputs
    writer core[0].load readers core[0].array
ring conv2.y   in l1  at 5792 slots 2 bytes 480  dtype int8  role outputs
    writer core[0].vector readers core[0].store
ring conv1.acc in acc at 0    slots 2 bytes 1920 dtype int32 role partials
    writer core[0].array readers core[0].vector
ring conv2.acc in acc at 0    slots 2 bytes 1920 dtype int32 role partials
    writer core[0].array readers core[0].vector

semaphore y1.ready     # one token for each strip of y1 in DRAM
semaphore acc.drained  # conv1 has left the accumulators

queue core[0].load engine load unit dma:
    MOVE conv1.load_b [k=16] role weights wait conv1.b.free
        src b1{k:4} dst conv1.b{k:4} signal conv1.b.full
    MOVE conv1.load_w [k=16, rsc=72] role weights wait conv1.w.free
        src w1{k:72, rsc:1} dst conv1.w{k:72, rsc:1} signal conv1.w.full
    for p in 3:
        # rows -1 .. 5: the whole first strip, one row and two columns of it padding
        MOVE conv1.load_top [h=7, w=14, c=8] role inputs when first(p) wait conv1.x.free
            src x{h:96, w:8, c:1}-104 clip(h: -1 of 12, w: -1 of 12)
            dst conv1.x{h:112, w:8, c:1} signal conv1.x.full
        # the rows below the two that are kept
        MOVE conv1.load_x [h=5 | 12-5*p, w=14, c=8] role inputs when !first(p) retains wait conv1.x.free
            src x{h:96, w:8, c:1}+480*p+88 clip(h: 5*p+1 of 12, w: -1 of 12)
            dst conv1.x{h:112, w:8, c:1}+224 signal conv1.x.full
    MOVE conv2.load_w [k=8, c=16] role weights wait conv2.w.free
        src w2{k:16, c:1} dst conv2.w{k:16, c:1} signal conv2.w.full
    for t in 3:
        MOVE conv2.load_x [m=60 | 144-60*t, c=16] role inputs wait y1.ready, conv2.x.free
            src y1{m:16, c:1}+960*t dst conv2.x{m:16, c:1} signal conv2.x.full

queue core[0].array engine array unit mxu:
    for p in 3:
        for q in 2:
            MATMUL conv1.mm [h=5 | 12-5*p, w=12, k=8, r=3, s=3, c=8] nest m(h, w) n(k) k(r, s, c) dtypes int8, int8
                wait conv1.b.full if first(p) & first(q), conv1.w.full if first(p) & first(q)
                wait conv1.x.full if first(q), conv1.acc.free
                a conv1.x{h:112, w:8, r:112, s:8, c:1}
                b conv1.w{k:72, r:24, s:8, c:1}+576*q
                bias conv1.b{k:4}+32*q
                acc conv1.acc{h:384, w:32, k:4}
                signal conv1.acc.full, conv1.x.free if last(q)
                signal conv1.b.free if last(p) & last(q), conv1.w.free if last(p) & last(q)
    for t in 3:
        for u in 2:
            MATMUL conv2.mm [m=60 | 144-60*t, k=8, c=8] nest m(m) n(k) k(c) fresh first(u) dtypes int8, int8
                wait conv2.w.full if first(t) & first(u), acc.drained if first(t) & first(u)
                wait conv2.x.full if first(u), conv2.acc.free if first(u)
                a conv2.x{m:16, c:1}+8*u
                b conv2.w{k:16, c:1}+8*u
                acc conv2.acc{m:32, k:4}
                signal conv2.acc.full if last(u), conv2.x.free if last(u)
                signal conv2.w.free if last(t) & last(u)

queue core[0].vector engine vector unit vpu:
    for p in 3:
        for q in 2:
            VECTOR conv1.drain [h=5 | 12-5*p, w=12, k=8] role outputs function requantise+relu passes 1 dtypes int8
                wait conv1.acc.full, conv1.y.free
                in0 conv1.acc{h:384, w:32, k:4} out conv1.y{h:96, w:8, k:1}
                signal conv1.acc.free, conv1.y.full, acc.drained if last(p) & last(q)
    for t in 3:
        VECTOR conv2.drain [m=60 | 144-60*t, k=8] role outputs function requantise passes 1 dtypes int8
            wait conv2.acc.full, conv2.y.free
            in0 conv2.acc{m:32, k:4} out conv2.y{m:8, k:1}
            signal conv2.acc.free, conv2.y.full

queue core[0].store engine store unit dma:
    for p in 3:
        for q in 2:
            MOVE conv1.store [h=5 | 12-5*p, w=12, k=8] role outputs wait conv1.y.full
                src conv1.y{h:96, w:8, k:1} dst y1{h:192, w:16, k:1}+960*p+8*q
                signal conv1.y.free, y1.ready if last(q)
    for t in 3:
        MOVE conv2.store [m=60 | 144-60*t, k=8] role outputs wait conv2.y.full
            src conv2.y{m:8, k:1} dst y2{m:8, k:1}+480*t
            signal conv2.y.free
