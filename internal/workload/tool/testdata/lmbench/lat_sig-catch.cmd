lat_sig -N 1 catch
