#error "not emulated: tensor cores"
