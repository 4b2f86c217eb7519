"""Files on local disks, in object stores and in HDFS, for driver and workers alike."""
