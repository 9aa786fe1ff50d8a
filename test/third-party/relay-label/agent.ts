// The agent half: a client knows the labels of its targets. A relay knows those of the rules that name it.
import {
  type AgentCall,
  type AgentPlugin,
  defineCommand,
  defineDerivedObject,
  defineTargetField,
  Refused,
  type Static,
  Type
} from 'sluice/agent-plugin'
import { field, notice } from './field.ts'

const labels = defineTargetField(field)

const Config = Type.Object({
  deny_labels: Type.Array(Type.String({ maxLength: 32 }), {
    maxItems: 100,
    default: [],
    description: 'Labels that this relay refuses.'
  })
})
type Call = AgentCall<Static<typeof Config>>
type Notice = Static<typeof notice.body>

const notices = new WeakMap<object, Map<string, Notice>>() // by agent: a process can run several

function noticesOf(call: AgentCall): Map<string, Notice> {
  const known = notices.get(call) ?? new Map<string, Notice>()
  notices.set(call, known)
  return known
}

const relayNotice = defineDerivedObject({
  ...notice,
  async apply(rule, body, call: Call) {
    const denied = body.labels.find(label => call.config.deny_labels.includes(label))
    if (denied !== undefined) throw new Refused('denied_by_relay', `this relay refuses the label ${denied}`)
    noticesOf(call).set(rule, body)
  },
  async withdraw(rule, _removal, call) {
    noticesOf(call).delete(rule)
    return { done: Promise.resolve() }
  }
})

export default {
  name: 'relay-label',
  agent: '^1.5.0',
  config: Config,
  capabilities: { [notice.capability.id]: notice.capability.since },
  fields: [labels],
  kinds: [relayNotice],
  commands: [
    defineCommand({
      name: 'relay-labels',
      summary: 'Show the labels of the targets of all rules.',
      run: ({ call }) =>
        call.rules.having(labels).flatMap(({ spec, value: { values } }) =>
          values.map(({ target, value: label }) => ({
            rule: spec.id,
            host: spec.targets[target]?.host,
            label
          }))
        )
    }),
    defineCommand({
      name: 'relay-notices',
      summary: 'Show the rules of other clients that name this client as a relay.',
      run: ({ call }) =>
        [...noticesOf(call)].map(([rule, { owner, labels }]) => ({ rule, owner, labels: labels.join(', ') }))
    })
  ]
} satisfies AgentPlugin
