/** The package's version, put in by the bundler. */
declare const VERSION: string
