"""Nothing that tests read is kept in, or taken from, the cache of whoever runs them."""

import os
import tempfile

os.environ["ROLLPROF_CACHE_DIR"] = tempfile.mkdtemp(prefix="rollprof-tests-cache-")
