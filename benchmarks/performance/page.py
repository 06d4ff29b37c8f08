def write(lines, folder):
    pass
