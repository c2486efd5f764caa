// Loaded before dynalite, which takes what DynamoDB refuses: empty and long keys, and expressions that are too long.
const validations = require('dynalite/validations')

const EXPRESSION_BYTES = 4096
const OPERATORS = 300
const KEY_BYTES = 2048
// What may be an operator or a function: commas and parentheses are counted too, so never too few.
const OPERATOR = /[-+=,(]|[<>]=?|\b(?:AND|OR|NOT|BETWEEN|IN)\b/gi

const { checkTypes } = validations
validations.checkTypes = (data, types) => {
  const message = refusal(data)
  if (!message) return checkTypes(data, types)
  const body = { __type: 'com.amazon.coral.validate#ValidationException', message }
  throw Object.assign(new Error(message), { statusCode: 400, body })
}

function refusal(data) {
  for (const [name, value] of Object.entries(data)) {
    if (!name.endsWith('Expression')) continue
    if (Buffer.byteLength(value) > EXPRESSION_BYTES) return `${name} has more than ${EXPRESSION_BYTES} bytes`
    if ((value.match(OPERATOR) ?? []).length > OPERATORS) return `${name} has more than ${OPERATORS} operators`
  }
  // Of a query, the values of a filter are numbers: all texts are those of keys.
  const values = data.KeyConditionExpression ? data.ExpressionAttributeValues : {}
  for (const [name, { S: text }] of Object.entries({ ...data.Key, ...data.ExclusiveStartKey, ...values })) {
    if (text === '') return `the key ${name} is empty`
    if (text && Buffer.byteLength(text) > KEY_BYTES) return `the key ${name} has more than ${KEY_BYTES} bytes`
  }
}
