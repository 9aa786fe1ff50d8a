import { NativeSelect, TextInput } from '@mantine/core'
import { call } from '../../api/call.ts'
import { count } from '../../format.ts'
import { Form } from '../../parts/form/Form.tsx'
import type { ControlProps } from '../../parts/form/fields.ts'
import { toOptions } from '../../parts/form/to-options.ts'
import { useForm } from '../../parts/form/use-form.ts'
import { text } from '../../text/text.ts'
import { ClientSelect } from '../clients/ClientSelect.tsx'
import { portsOf, useRules } from '../rules/queries.ts'

const hour = 3600
const times = { hour, day: 24 * hour, week: 168 * hour, month: 720 * hour } as const

const initial = {
  source: '',
  client: '',
  rule_id: '',
  for_secs: 'day' as keyof typeof times,
  live: 'cut' as 'cut' | 'keep',
  reason: ''
}

const fields = {
  source: { label: text.bans.source, description: text.bans.sourceHint },
  client: { label: text.bans.where, codes: ['client_not_found', 'bans_unsupported_by_client'] },
  rule_id: { label: text.bans.rule, codes: ['rule_not_found'] },
  for_secs: { label: text.bans.time },
  live: { label: text.bans.live },
  reason: { label: text.optional(text.bans.reason) }
}

/** Bans a source on one rule, on a client, or on all clients. */
export function NewBan({ onDone }: { readonly onDone: () => void }) {
  const { values, set, field, input, form } = useForm({
    initial,
    fields,
    save: ban,
    notice: ({ bans }) => text.bans.createdNotice(count(bans.length)),
    onDone
  })
  return (
    <Form {...form} submitLabel={text.bans.submit}>
      <TextInput {...input('source')} data-autofocus required />
      <ClientSelect
        {...field('client')}
        onChange={client => set({ client, rule_id: '' })}
        first={{ value: '', label: text.bans.allClients }}
      />
      <RuleSelect {...field('rule_id')} client={values.client} />
      <NativeSelect {...input('for_secs')} data={toOptions(text.bans.times)} />
      <NativeSelect {...input('live')} data={toOptions(text.bans.lives)} />
      <TextInput {...input('reason')} maxLength={256} />
    </Form>
  )
}

interface RuleSelectProps extends ControlProps<string> {
  readonly client: string // id
}

/** Selects a rule of the client. Hidden if the client has none. */
function RuleSelect({ client, onChange, ...shown }: RuleSelectProps) {
  const rules = (useRules().data ?? []).filter(rule => rule.client_id === client)
  if (rules.length === 0) return null
  return (
    <NativeSelect
      {...shown}
      data={[
        { value: '', label: text.bans.allRules },
        ...rules.map(rule => ({ value: rule.rule_id, label: `${portsOf(rule)}/${rule.protocol}` }))
      ]}
      onChange={event => onChange(event.currentTarget.value)}
    />
  )
}

const ban = ({ source, client, rule_id, reason, for_secs, live }: typeof initial) =>
  call('POST /v1/bans', {
    body: {
      source: source.trim(),
      for_secs: times[for_secs],
      live,
      ...(rule_id !== '' ? { rule_id } : client !== '' && { client }),
      ...(reason.trim() !== '' && { reason: reason.trim() })
    }
  })
