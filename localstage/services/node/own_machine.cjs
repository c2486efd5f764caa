// Loaded before dynalite: answers what localstage/core/own_machine.py answers, and refuses the rest in the same way.
// With the variable HEADRACE_SESSION_TOKEN, only requests of clients with that session token are answered.
const http = require('node:http')

const LOOPBACK = /^(localhost|127(\.(25[0-5]|2[0-4]\d|1?\d?\d)){3}|\[::1\])(:\d{1,5})?$/i

const TOKEN = process.env.HEADRACE_SESSION_TOKEN

function refusal({ host, origin, 'sec-fetch-site': site, 'x-amz-security-token': token }) {
  if (host === undefined || !LOOPBACK.test(host)) {
    return `Host: '${host}' is not this machine; allowed: localhost, 127.0.0.0/8 and [::1]`
  }
  if (origin !== undefined && origin.toLowerCase() !== `http://${host.toLowerCase()}`) {
    return `Origin: '${origin}' is another page; allowed: none, or http://${host}`
  }
  if (site !== undefined && site !== 'none' && site !== 'same-origin') {
    return `Sec-Fetch-Site: '${site}' is a request of another page; allowed: none, or same-origin`
  }
  if (TOKEN && token !== TOKEN) return 'X-Amz-Security-Token: not the session token of this stage'
  return ''
}

const createServer = http.createServer
http.createServer = (handler) =>
  createServer((request, response) => {
    const reason = refusal(request.headers)
    if (reason) {
      response.writeHead(403, { 'content-type': 'application/json' })
      response.end(JSON.stringify({ message: reason }))
    } else {
      handler(request, response)
    }
  })
