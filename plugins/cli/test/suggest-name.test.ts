import t from 'tap'
import { Type } from '../../../kernel/cli/args.ts'
import { ClientArg } from '../../clients/command-exports.ts'
import { RuleArg, ruleValues } from '../../rules/command-exports.ts'
import { suggestName } from '../program/suggest-name.ts'

const lists: Readonly<Record<string, readonly object[]>> = {
  '/v1/clients': [{ client_name: 'paris' }, { client_name: 'lyon' }],
  '/v1/rules': [{ name: 'web', client_name: 'paris', listen_port: 8080, protocol: 'tcp' }]
}
const api = {
  async get(path: string) {
    const rows = lists[path]
    if (!rows) throw new TypeError(path)
    return rows
  }
} as never // only what the function uses

const args = Type.Object({
  client: ClientArg,
  rule: Type.Optional(Type.Array(RuleArg, ruleValues))
})
const suggest = (given: object) => suggestName({ args }, given as never, api)

t.test('an object that does not exist: the closest name of its list is suggested', async t => {
  t.equal(await suggest({ client: 'parys' }), '; did you mean paris?')
  t.equal(await suggest({ client: 'paris', rule: ['web', 'parys:8080'] }), '; did you mean paris:8080?')
})

t.test('nothing is suggested for names that exist, far ones, and lists that cannot be read', async t => {
  t.equal(await suggest({ client: 'paris', rule: ['web', 'paris:8080'] }), '')
  t.equal(await suggest({ client: 'elsewhere' }), '')
  const gone = Type.Object({ user: Type.String({ values: ['/v1/nothing', 'user_id'] }) })
  t.equal(await suggestName({ args: gone }, { user: 'ann' }, api), '')
})
