// `grant create`: the requests of listen grants and exit grants.
import t from 'tap'
import type { CommandCall } from '../../../kernel/cli/command.ts'
import { commands } from '../commands.ts'

const id = '01K9ZJ4M5N6P7Q8R9S0TABCDEF'

async function create(args: object) {
  const bodies: unknown[] = []
  const call = {
    args: { user: 'ann', client: 'office', ...args },
    filled: () => [],
    api: {
      list: async () => [{ client_id: id, client_name: 'paris' }],
      send: async (_method: string, _path: string, body: unknown) => {
        bodies.push(body)
        return {}
      }
    },
    print: { data() {} }
  } as unknown as CommandCall<never> // only the members that this command uses
  const failure = await commands
    .find(({ name }) => name === 'grant create')
    ?.run(call)
    .catch((error: unknown) => error)
  return { bodies, failure }
}

t.test('ports make a listen grant', async t => {
  t.same((await create({ ports: '80-90' })).bodies, [
    { user_id: 'ann', client: 'office', listen_port_start: 80, listen_port_end: 90, protocols: ['tcp'] }
  ])
})

t.test('--exit makes an exit grant, for all entries or for those that are named', async t => {
  const exit = { user_id: 'ann', client: 'office', use: 'exit', protocols: ['tcp'] }
  t.same((await create({ exit: true })).bodies, [exit])
  t.same((await create({ exit: true, entry: ['paris', id], target: ['10.0.0.0/8'] })).bodies, [
    { ...exit, entries: [id, id], targets: ['10.0.0.0/8'] }
  ])
})

t.test('ports and --exit are alternatives, and --entry needs --exit', async t => {
  for (const [args, message] of [
    [{}, /give PORTS, or --exit/],
    [{ ports: '80', exit: true }, /no listen ports/],
    [{ ports: '80', entry: ['paris'] }, /--entry needs --exit/]
  ] as const) {
    const { bodies, failure } = await create(args)
    t.match(failure, { message })
    t.same(bodies, [])
  }
})
