// The object `exit` on the wire.
import t from 'tap'
import { objectMessages } from '../../../agent/wire/derived-object.ts'
import { openCodec } from '../../../kernel/wire/codec.ts'
import { type ExitPart, exitObject } from '../wire.ts'

const { push } = objectMessages(exitObject)
const codec = openCodec([push])
const id = '01K9ZJ4M5N6P7Q8R9S0TABCDEF'
const part: ExitPart = {
  entry_id: id,
  entry_name: 'edge',
  owner: 'ada',
  ports: 1,
  prefer_ipv6: false,
  targets: [{ key: 0, previous: id, host: 'db.example', port: 5432 }]
}

t.test('an exit tells no list of allowed targets from an empty one', async t => {
  for (const allow of [
    undefined,
    { matches: [] },
    { matches: [{ cidr: '10.0.0.0/8', port_from: 1, port_to: 9 }, { host: 'db.example' }] }
  ]) {
    const body = { ...part, ...(allow && { allow }) }
    t.same(codec.decode(push, codec.encode(push, { id, revision: 1, body })).body, body)
  }
})
