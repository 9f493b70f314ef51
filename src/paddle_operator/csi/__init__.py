"""The CSI node plugin csi.juicefs.com: JuiceFS volumes for the pods of one node."""
