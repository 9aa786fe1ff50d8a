import t from 'tap'
import type { EngineRuleDraft, RuleSpec } from '../../../agent/plugin.ts'
import { openCodec } from '../../../kernel/wire/codec.ts'
import agent from '../agent.ts'
import { parseTarget } from '../targets.ts'
import { Targets } from '../wire.ts'

const codec = openCodec([Targets])

t.test('a target list adds a filter to the rule', async t => {
  const guardrail = { allow: null, deny: [{ cidr: '169.254.0.0/16' }], refusal: 'denied_by_agent' }
  const draft = { target: [guardrail] } as unknown as EngineRuleDraft // the parts that this field uses
  const allow = ['10.0.0.0/8', 'db.example:5000-5010'].map(entry => parseTarget(entry, '/targets'))

  const [field] = agent.fields
  field?.plan?.(codec.decode(Targets, codec.encode(Targets, { allow })), draft, {} as RuleSpec)

  t.same(draft.target, [
    guardrail,
    {
      allow: [{ cidr: '10.0.0.0/8' }, { host: 'db.example', ports: [5000, 5010] }],
      deny: [],
      refusal: 'target_denied'
    }
  ])
})
