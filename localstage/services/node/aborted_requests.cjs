// Loaded before dynalite, which throws when a client disconnects during a request (its index.js, req 'error').
// A killed function must not end the database. Every other error ends the process, as before.
process.on('uncaughtException', (error) => {
  if (error && error.code === 'ECONNRESET') {
    console.error(`a client disconnected during a request: ${error.message}`)
    return
  }
  console.error(error)
  process.exit(1)
})
