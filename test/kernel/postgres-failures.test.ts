import t from 'tap'
import { Fault } from '../../kernel/base/errors.ts'
import { faultOf, isLost } from '../../kernel/store/postgres/failures.ts'
import { Refused } from '../../kernel/wire/message.ts'

t.test(
  'on PostgreSQL, an agent with a refused enrollment code gets the reason, not store_unavailable',
  async t => {
    for (const code of ['enrollment_invalid', 'enrollment_expired', 'wire.closed']) {
      const refusal = new Refused(code, 'ask for a new code')

      t.equal(faultOf(refusal), refusal)
      t.notOk(isLost(refusal))
    }
  }
)

t.test('a lost connection throws store_unavailable', async t => {
  const nodeError = (code: string) => Object.assign(new Error(''), { code })
  for (const error of [
    nodeError('ECONNRESET'),
    nodeError('ERR_SOCKET_CLOSED'),
    new Error('Connection terminated')
  ])
    t.ok(isLost(error), `${error}`)

  t.match(faultOf(nodeError('ECONNREFUSED')), Fault)
  t.notOk(isLost(nodeError('ERR_INVALID_ARG_TYPE')))
})
