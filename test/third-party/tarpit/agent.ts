// The agent half: diverts the listed sources to its own listener, which sends a byte in a while and ignores all input.
import { once } from 'node:events'
import { createServer, type Socket } from 'node:net'
import {
  type AgentCall,
  type AgentPlugin,
  type AgentScope,
  defineField,
  type FieldRule,
  type Static,
  Type
} from 'sluice/agent-plugin'
import { field } from './field.ts'

const Config = Type.Object({
  port: Type.Integer({
    minimum: 1,
    maximum: 65_535,
    default: 2323,
    description: 'Port of the tarpit on 127.0.0.1.'
  }),
  every_secs: Type.Integer({ minimum: 1, maximum: 600, default: 10, description: 'Time between two bytes.' })
})
type Settings = Static<typeof Config>

const setOf = (ruleId: string): string => `tarpit ${ruleId}`

/** The sources of each rule that are in its set. */
const filled = new WeakMap<FieldRule<typeof field.body>, ReadonlySet<string>>()

function fill(rule: FieldRule<typeof field.body>, sources: ReadonlySet<string>, call: AgentCall): void {
  const before = filled.get(rule) ?? new Set()
  const change = { add: [...sources.difference(before)], remove: [...before.difference(sources)] }
  call.changeAddresses(setOf(rule.spec.id), change)
  filled.set(rule, sources)
}

const follow = (rule: FieldRule<typeof field.body>, call: AgentCall): void =>
  fill(rule, new Set(rule.value.sources), call)

const tarpit = defineField({
  ...field,
  opened: follow,
  changed: follow,
  gone: (rule, call) => fill(rule, new Set(), call)
})

export default {
  name: 'tarpit',
  agent: '^1.6.0',
  config: Config,
  fields: [tarpit],
  plan(draft, { id, fields }, { codec, config: { port } }: AgentCall<Settings>) {
    const value = fields[field.key]
    if (!value) return
    const { max } = codec.decode(tarpit.message, value)
    const targets = [{ host: '127.0.0.1', port }]
    const refusalBeyond = { max, reason: 'tarpit_full' }
    draft.diverts = [...draft.diverts, { name: 'tarpit', from: [setOf(id)], targets, refusalBeyond }]
  },
  async start({ call: { config, clock }, defer }: AgentScope<Settings>) {
    const { port, every_secs } = config
    const callers = new Set<Socket>()
    const server = createServer(socket => {
      callers.add(socket.on('error', () => {}).once('close', () => callers.delete(socket)))
      socket.resume() // to notice the end
    })
    server.listen(port, '127.0.0.1')
    await once(server, 'listening')
    defer(() => {
      server.close()
      for (const caller of callers) caller.destroy()
    })
    const drip = () => {
      for (const caller of callers) if (!caller.writableNeedDrain) caller.write('.')
    }
    defer(clock.every(every_secs * 1000, drip))
  }
} satisfies AgentPlugin
