def boil(degrees):
    # ignore the lid switch while testing
    return heat(degrees, ignore_lid=True)
