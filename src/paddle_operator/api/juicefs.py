"""The options that JuiceFS knows, by the names that it gives them."""

from typing import Annotated

from paddle_operator.api.fields import doc
from paddle_operator.api.formats import DataPath, DataUri, Ratio
from paddle_operator.api.meta import Record

LONGEST_WORD = 1024


class JuiceFSMountOptions(Record, frozen=True, rename="kebab"):
    """Options of `juicefs mount`; JuiceFS' own defaults hold for what is left out."""

    metrics: Annotated[str | None, doc("The address to serve metrics on (127.0.0.1:9567).")] = None
    attr_cache: Annotated[int | None, doc("Seconds that attributes are kept (1).", minimum=0)] = None
    entry_cache: Annotated[int | None, doc("Seconds that file entries are kept (1).", minimum=0)] = None
    dir_entry_cache: Annotated[int | None, doc("Seconds that directory entries are kept (1).", minimum=0)] = None
    enable_xattr: Annotated[bool | None, doc("Serve extended attributes.")] = None
    get_timeout: Annotated[int | None, doc("Seconds to wait for a download (60).", minimum=0)] = None
    put_timeout: Annotated[int | None, doc("Seconds to wait for an upload (60).", minimum=0)] = None
    io_retries: Annotated[int | None, doc("How often to try again after a network error (30).", minimum=0)] = None
    max_uploads: Annotated[int | None, doc("Uploads at once (20).", minimum=0)] = None
    buffer_size: Annotated[int | None, doc("MiB of buffer for reading and writing (300).", minimum=0)] = None
    prefetch: Annotated[int | None, doc("Blocks to read ahead at once (1).", minimum=0)] = None
    writeback: Annotated[bool | None, doc("Upload in the background: faster, and lost with the node.")] = None
    cache_dir: Annotated[str | None, doc("Directories of the cache, joined by ':'; spec.cache has precedence.")] = None
    cache_size: Annotated[int | None, doc("MiB that the cache may hold; spec.cache has precedence.", minimum=0)] = None
    free_space_ratio: Annotated[Ratio | None, doc("The part of the disk to leave free (0.1).")] = None
    cache_partial_only: Annotated[bool | None, doc("Cache small reads only.")] = None
    open_cache: Annotated[int | None, doc("Seconds that open files are kept (0).", minimum=0)] = None
    sub_dir: Annotated[str | None, doc("The directory of the volume to mount.")] = None


class SyncOptions(Record, frozen=True, rename="kebab"):
    """Options of `juicefs sync`, and where to copy from and to."""

    source: Annotated[DataUri | None, doc("Where to copy from; the SampleSet's source if left out.")] = None
    destination: Annotated[
        DataPath | None, doc("The directory of the data set to copy into; its root if left out.")
    ] = None
    start: Annotated[str | None, doc("The first key to copy.", maxLength=LONGEST_WORD)] = None
    end: Annotated[str | None, doc("The last key to copy.", maxLength=LONGEST_WORD)] = None
    threads: Annotated[int | None, doc("Copies at once (10).", minimum=0, maximum=10000)] = None
    http_port: Annotated[int | None, doc("The port to serve metrics on (6070).", minimum=0, maximum=65535)] = None
    update: Annotated[bool | None, doc("Copy what is newer at the source.")] = None
    force_update: Annotated[bool | None, doc("Copy all files, newer or not.")] = None
    perms: Annotated[bool | None, doc("Keep permissions.")] = None
    dirs: Annotated[bool | None, doc("Copy directories, empty ones too.")] = None
    dry: Annotated[bool | None, doc("Copy nothing; only say what would be.")] = None
    delete_src: Annotated[bool | None, doc("Delete from the source what was copied.")] = None
    delete_dst: Annotated[bool | None, doc("Delete from the data set what the source does not have.")] = None
    exclude: Annotated[str | None, doc("Leave out the keys that match this.", maxLength=LONGEST_WORD)] = None
    include: Annotated[str | None, doc("Copy only the keys that match this.", maxLength=LONGEST_WORD)] = None
    manager: Annotated[str | None, doc("The address of the sync's manager.")] = None
    worker: Annotated[str | None, doc("Hosts that copy too, joined by ','.")] = None
    bwlimit: Annotated[int | None, doc("The most Mbps to use (0: no limit).", minimum=0)] = None
    no_https: Annotated[bool | None, doc("Do not use HTTPS.")] = None
