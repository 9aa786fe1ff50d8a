import { NativeSelect, TextInput } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { call } from '../../api/call.ts'
import { notify } from '../../app/notices.ts'
import { count } from '../../format.ts'
import { Form } from '../../parts/form/Form.tsx'
import { formErrors } from '../../parts/form/form-errors.ts'
import { text } from '../../text/text.ts'
import { ClientSelect } from '../clients/ClientSelect.tsx'
import { portsOf, useRules } from '../rules/queries.ts'

const hour = 3600
const times = { hour, day: 24 * hour, week: 168 * hour, month: 720 * hour } as const
type Time = keyof typeof times

const blank = { source: '', client: '', rule_id: '', reason: '' }

/** Bans a source on one rule, on a client, or on all clients. */
export function NewBan({ onDone }: { readonly onDone: () => void }) {
  const [form, setForm] = useState(blank)
  const [time, setTime] = useState<Time>('day')
  const [live, setLive] = useState<'cut' | 'keep'>('cut')
  const { client, rule_id } = form
  const ban = useBan({ ...form, time, live }, onDone)
  const { errorAt, generalError } = formErrors(ban.error, fields)
  const input = (name: 'source' | 'reason') => ({
    label: name === 'reason' ? text.optional(text.bans.reason) : text.bans.source,
    value: form[name],
    onChange: (event: { readonly currentTarget: HTMLInputElement }) =>
      setForm({ ...form, [name]: event.currentTarget.value }),
    error: errorAt(name)
  })
  return (
    <Form
      submitLabel={text.bans.submit}
      isBusy={ban.isPending}
      error={generalError}
      onSubmit={() => ban.mutate()}
    >
      <TextInput {...input('source')} description={text.bans.sourceHint} data-autofocus required />
      <ClientSelect
        label={text.bans.where}
        value={client}
        onChange={client => setForm({ ...form, client, rule_id: '' })}
        first={{ value: '', label: text.bans.allClients }}
        error={errorAt('client')}
      />
      <RuleSelect
        client={client}
        value={rule_id}
        onChange={rule_id => setForm({ ...form, rule_id })}
        error={errorAt('rule_id')}
      />
      <NativeSelect
        label={text.bans.time}
        data={toOptions(text.bans.times)}
        value={time}
        onChange={event => setTime(event.currentTarget.value as Time)}
        error={errorAt('for_secs')}
      />
      <NativeSelect
        label={text.bans.live}
        data={toOptions(text.bans.lives)}
        value={live}
        onChange={event => setLive(event.currentTarget.value as 'cut' | 'keep')}
      />
      <TextInput {...input('reason')} maxLength={256} />
    </Form>
  )
}

const fields = {
  source: [],
  client: ['client_not_found', 'bans_unsupported_by_client'],
  rule_id: ['rule_not_found'],
  for_secs: [],
  reason: []
}

const toOptions = (labels: Readonly<Record<string, string>>) =>
  Object.entries(labels).map(([value, label]) => ({ value, label }))

interface RuleSelectProps {
  readonly client: string // id
  readonly value: string
  readonly onChange: (rule_id: string) => void
  readonly error: string | null
}

/** Selects a rule of the client. Hidden if the client has none. */
function RuleSelect({ client, value, onChange, error }: RuleSelectProps) {
  const rules = (useRules().data ?? []).filter(rule => rule.client_id === client)
  if (rules.length === 0) return null
  return (
    <NativeSelect
      label={text.bans.rule}
      data={[
        { value: '', label: text.bans.allRules },
        ...rules.map(rule => ({ value: rule.rule_id, label: `${portsOf(rule)}/${rule.protocol}` }))
      ]}
      value={value}
      onChange={event => onChange(event.currentTarget.value)}
      error={error}
    />
  )
}

interface BanForm extends Readonly<typeof blank> {
  readonly time: Time
  readonly live: 'cut' | 'keep'
}

function useBan({ source, client, rule_id, reason, time, live }: BanForm, onDone: () => void) {
  return useMutation({
    meta: { shown: true },
    mutationFn: () =>
      call('POST /v1/bans', {
        body: {
          source: source.trim(),
          for_secs: times[time],
          live,
          ...(rule_id !== '' ? { rule_id } : client !== '' && { client }),
          ...(reason.trim() !== '' && { reason: reason.trim() })
        }
      }),
    onSuccess: ({ bans }) => {
      notify(text.bans.createdNotice(count(bans.length)))
      onDone()
    }
  })
}
