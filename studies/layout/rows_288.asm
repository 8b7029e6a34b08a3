# A tile of 64 rows x 256 bytes comes into l1; the vector unit reads columns 0 .. 31 of it, one word of each row.
# Rows lie 288 bytes apart, one word more than banks x word: a column lies in all eight banks, eight words a cycle.
# In rows_256.asm they are not padded, and a column lies in one bank.
program rows_288 on edge_npu
layer y

tensor x    in dram at 0     bytes 16384 dtype int8 role inputs shape [64, 256] preloaded
tensor y    in dram at 16384 bytes 2048  dtype int8 role inputs shape [64, 32]
tensor tile in l1   at 0     bytes 18432 dtype int8 role inputs shape [64, 256] strides [288, 1]

ring slim in l1 at 32768 slots 1 bytes 2048 dtype int8 role outputs writer core[0].vector readers core[0].store

semaphore loaded

queue core[0].load engine load unit dma:
    MOVE y.load [r=64, c=256] role inputs src x{r:256, c:1} dst tile{r:288, c:1} signal loaded

queue core[0].vector engine vector unit vpu:
    VECTOR y.column [r=64, c=32] role outputs function relu passes 1 dtypes int8 wait loaded, slim.free
        in0 tile{r:288, c:1} out slim{r:32, c:1} signal slim.full

queue core[0].store engine store unit dma:
    MOVE y.store [r=64, c=32] role outputs wait slim.full src slim{r:32, c:1} dst y{r:32, c:1} signal slim.free
