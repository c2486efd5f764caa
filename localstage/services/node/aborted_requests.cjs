// Loaded before dynalite, which throws when a client goes away in the middle of a request (its index.js, req 'error'):
// one killed function must not take the database with it. Everything else ends the process, as before.
process.on('uncaughtException', (error) => {
  if (error && error.code === 'ECONNRESET') {
    console.error(`a client went away in the middle of a request: ${error.message}`)
    return
  }
  console.error(error)
  process.exit(1)
})
