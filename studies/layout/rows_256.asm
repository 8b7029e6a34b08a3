# A tile of 64 rows x 256 bytes comes into l1; the vector unit reads columns 0 .. 31 of it, one word of each row.
# Rows lie 256 bytes apart, banks x word of edge_npu's l1: the words of a column all lie in one bank, one a cycle.
# In rows_288.asm the rows are padded by one word (288 bytes apart) and the column lies in all eight banks.
program rows_256 on edge_npu
layer y

tensor x    in dram at 0     bytes 16384 dtype int8 role inputs shape [64, 256] preloaded
tensor y    in dram at 16384 bytes 2048  dtype int8 role inputs shape [64, 32]
tensor tile in l1   at 0     bytes 16384 dtype int8 role inputs shape [64, 256] strides [256, 1]

ring slim in l1 at 32768 slots 1 bytes 2048 dtype int8 role outputs writer core[0].vector readers core[0].store

semaphore loaded

queue core[0].load engine load unit dma:
    MOVE y.load [r=64, c=256] role inputs src x{r:256, c:1} dst tile{r:256, c:1} signal loaded

queue core[0].vector engine vector unit vpu:
    VECTOR y.column [r=64, c=32] role outputs function relu passes 1 dtypes int8 wait loaded, slim.free
        in0 tile{r:256, c:1} out slim{r:32, c:1} signal slim.full

queue core[0].store engine store unit dma:
    MOVE y.store [r=64, c=32] role outputs wait slim.full src slim{r:32, c:1} dst y{r:32, c:1} signal slim.free
