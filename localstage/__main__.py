import sys

try:
    from localstage.cli import main

    main()
except KeyboardInterrupt:
    # Ctrl-C ends every command quietly, also during the imports, which take a moment on a busy machine.
    sys.exit(130)
