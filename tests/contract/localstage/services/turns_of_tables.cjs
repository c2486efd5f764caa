// Calls batches of the table Busy and then one of the table Quiet, all at once, in this process. Prints the tables in
// the order in which their batches ended. Arguments: the folder of the data, and the number of batches of Busy.
const { promisify } = require('node:util')
const db = require('dynalite/db')

const [folder, batches] = process.argv.slice(2)
const store = db.create({ path: folder, createTableMs: 0 })

const call = (action, data) => promisify(require(`dynalite/actions/${action}`))(store, data)

async function create(table) {
  await call('createTable', {
    TableName: table,
    KeySchema: [{ AttributeName: 'id', KeyType: 'HASH' }],
    AttributeDefinitions: [{ AttributeName: 'id', AttributeType: 'S' }],
    BillingMode: 'PAY_PER_REQUEST',
  })
  while ((await call('describeTable', { TableName: table })).Table.TableStatus !== 'ACTIVE');
}

async function main() {
  for (const table of ['Busy', 'Quiet']) await create(table)
  const ended = []
  const write = async (table, number) => {
    const put = (at) => ({ PutRequest: { Item: { id: { S: `${number}-${at}` } } } })
    await call('batchWriteItem', { RequestItems: { [table]: Array.from({ length: 25 }, (_, at) => put(at)) } })
    ended.push(table)
  }
  const busy = Array.from({ length: Number(batches) }, (_, number) => write('Busy', number))
  await Promise.all([...busy, write('Quiet', 0)])
  console.log(JSON.stringify(ended))
  process.exit(0)
}

main()
