# include/mlc/tensor.def
# the second and the third register of a hold each other's elements
s/"k2 k4 m1 m2 m4 | k1 m8 k8"/"k2 k4 m1 m2 m4 | k1 k8 m8"/
