import { NativeSelect, TextInput } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { call } from '../../api/call.ts'
import { notify } from '../../app/notices.ts'
import { count } from '../../format.ts'
import { Form } from '../../parts/Form.tsx'
import { formErrors } from '../../parts/form-errors.ts'
import { text } from '../../text/text.ts'
import { EdgeSelect } from '../clients/ClientSelect.tsx'
import { portsOf, useRules } from '../rules/queries.ts'

const hour = 3600
const times = { hour, day: 24 * hour, week: 168 * hour, month: 720 * hour } as const
type Time = keyof typeof times

const blank = { source: '', client: '', rule_id: '', reason: '' }

/** Bans a source from one rule, from an edge, or from all edges that there are. */
export function NewBan({ onDone }: { readonly onDone: () => void }) {
  const [form, setForm] = useState(blank)
  const [time, setTime] = useState<Time>('day')
  const [live, setLive] = useState<'cut' | 'keep'>('cut')
  const { source, client, rule_id, reason } = form
  const rules = (useRules().data ?? []).filter(rule => rule.client_id === client)
  const ban = useMutation({
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
      notify(text.bans.made(count(bans.length)))
      onDone()
    }
  })
  const { at, rest } = formErrors(ban.error, {
    source: [],
    client: ['client_not_found', 'bans_unsupported_by_client'],
    rule_id: ['rule_not_found'],
    for_secs: [],
    reason: []
  })
  const input = (name: 'source' | 'reason') => ({
    label: name === 'reason' ? `${text.bans.reason} (${text.grants.optional})` : text.bans.source,
    value: form[name],
    onChange: (event: { readonly currentTarget: HTMLInputElement }) =>
      setForm({ ...form, [name]: event.currentTarget.value }),
    error: at(name)
  })
  const choices = (of: Readonly<Record<string, string>>) =>
    Object.entries(of).map(([value, label]) => ({ value, label }))
  return (
    <Form does={text.bans.submit} isBusy={ban.isPending} error={rest} onSubmit={() => ban.mutate()}>
      <TextInput {...input('source')} description={text.bans.sourceHint} data-autofocus required />
      <EdgeSelect
        label={text.bans.where}
        value={client}
        onChange={client => setForm({ ...form, client, rule_id: '' })}
        first={{ value: '', label: text.bans.everywhere }}
        error={at('client')}
      />
      {rules.length > 0 && (
        <NativeSelect
          label={text.bans.rule}
          data={[
            { value: '', label: text.bans.allRules },
            ...rules.map(rule => ({ value: rule.rule_id, label: `${portsOf(rule)}/${rule.protocol}` }))
          ]}
          value={rule_id}
          onChange={event => setForm({ ...form, rule_id: event.currentTarget.value })}
          error={at('rule_id')}
        />
      )}
      <NativeSelect
        label={text.bans.time}
        data={choices(text.bans.times)}
        value={time}
        onChange={event => setTime(event.currentTarget.value as Time)}
        error={at('for_secs')}
      />
      <NativeSelect
        label={text.bans.live}
        data={choices(text.bans.lives)}
        value={live}
        onChange={event => setLive(event.currentTarget.value as 'cut' | 'keep')}
      />
      <TextInput {...input('reason')} maxLength={256} />
    </Form>
  )
}
