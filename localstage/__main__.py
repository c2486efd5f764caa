from localstage.cli import main

main()
