// Reads pages from a dynalite in this process, and prints how many LevelDB iterators were opened, and are still open.
// Arguments: the folder of the data, and the number of pages.
const { AbstractLevel } = require('abstract-level')
const dynalite = require('dynalite')

const [folder, pages] = process.argv.slice(2)
const counts = { opened: 0, open: 0 }
const { attachResource, detachResource } = AbstractLevel.prototype
AbstractLevel.prototype.attachResource = function (resource) {
  counts.opened += 1
  counts.open += 1
  attachResource.call(this, resource)
}
AbstractLevel.prototype.detachResource = function (resource) {
  counts.open -= 1
  detachResource.call(this, resource)
}

const server = dynalite({ path: folder, createTableMs: 0 })

async function call(action, body) {
  const headers = {
    'x-amz-target': `DynamoDB_20120810.${action}`,
    'content-type': 'application/x-amz-json-1.0',
    authorization: 'AWS4-HMAC-SHA256 Credential=a/b/c/d/aws4_request, SignedHeaders=host, Signature=e',
    'x-amz-date': '20260101T000000Z',
  }
  const url = `http://127.0.0.1:${server.address().port}`
  const answer = await fetch(url, { method: 'POST', headers, body: JSON.stringify({ TableName: 'Rows', ...body }) })
  if (!answer.ok) throw new Error(`${action}: ${await answer.text()}`)
  return answer.json()
}

server.listen(0, '127.0.0.1', async () => {
  const keys = [['id', 'HASH'], ['at', 'RANGE']]
  await call('CreateTable', {
    KeySchema: keys.map(([AttributeName, KeyType]) => ({ AttributeName, KeyType })),
    AttributeDefinitions: keys.map(([AttributeName]) => ({ AttributeName, AttributeType: 'S' })),
    BillingMode: 'PAY_PER_REQUEST',
  })
  while ((await call('DescribeTable')).Table.TableStatus !== 'ACTIVE');
  for (let at = 0; at < 50; at++) await call('PutItem', { Item: { id: { S: 'a' }, at: { S: `${100 + at}` } } })
  const query = { KeyConditionExpression: 'id = :id', ExpressionAttributeValues: { ':id': { S: 'a' } } }
  for (let page = 0; page < pages; page++) {
    const limited = { Limit: page % 2 ? 5 : 100, ScanIndexForward: page % 3 === 0 }
    await (page % 4 ? call('Query', { ...query, ...limited }) : call('Scan', { Limit: limited.Limit }))
  }
  // An iterator is closed shortly after the answer.
  for (let turn = 0; turn < 100 && counts.open; turn++) await new Promise((resolve) => setTimeout(resolve, 10))
  console.log(JSON.stringify({ ...counts, megabytes: Math.round(process.memoryUsage().rss / 1e6) }))
  process.exit(0)
})
