import { Alert, Button, Group, NativeSelect, Stack, Text, TextInput } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { call, type Row, rows } from '../../api/call.ts'
import { useRight } from '../../api/rights.ts'
import { ConfirmAction } from '../../parts/dialog/ConfirmAction.tsx'
import { DialogButton } from '../../parts/dialog/DialogButton.tsx'
import { Form } from '../../parts/form/Form.tsx'
import { useForm } from '../../parts/form/use-form.ts'
import { PlainTable } from '../../parts/PlainTable.tsx'
import { Timestamp } from '../../parts/Timestamp.tsx'
import { text } from '../../text/text.ts'
import { ClientSelect } from '../clients/ClientSelect.tsx'
import { UserLink } from '../users/UserLink.tsx'

type Switch = Row<'GET /v1/under-attack'>

const words = text.underAttack
const hour = 3600
const times = { hour, day: 24 * hour, week: 168 * hour } as const
type Time = keyof typeof times

/** The switch that tightens all limits per source, and the clients on which it is on. */
export function UnderAttack() {
  const [selected, select] = useState<Switch | null>(null)
  const mayChange = useRight('managesAll')
  // Without the plugin the request fails and the switch is hidden.
  const { data: all } = useQuery({
    queryKey: ['under-attack'],
    queryFn: () => rows('GET /v1/under-attack'),
    meta: { shown: true }
  })
  if (!all) return null
  return (
    <>
      {all.length > 0 && (
        <Alert variant="default" title={words.isOn} mb="lg">
          <Stack gap="sm">
            <Text size="sm">{words.what}</Text>
            <PlainTable
              label={words.isOn}
              columns={[
                { title: words.client },
                { title: text.bans.until },
                { title: text.bans.by },
                { title: text.bans.reason },
                ...(mayChange ? [{ title: text.table.actions }] : [])
              ]}
              rows={all.map(one => ({
                key: one.client_id ?? '',
                cells: [
                  one.client_name ?? words.newClients,
                  <Timestamp key="until" at={one.until} format="brief" />,
                  <UserLink key="by" id={one.made_by} />,
                  one.reason,
                  ...(mayChange
                    ? [
                        <Button key="off" size="compact-xs" variant="default" onClick={() => select(one)}>
                          {words.turnOff}
                        </Button>
                      ]
                    : [])
                ]
              }))}
            />
          </Stack>
        </Alert>
      )}
      {mayChange && (
        <Group mb="lg">
          <DialogButton label={words.turnOn}>{close => <TurnOn onDone={close} />}</DialogButton>
        </Group>
      )}
      {selected && <TurnOff active={selected} onClose={() => select(null)} />}
    </>
  )
}

const fields = {
  client: { label: words.client, codes: ['client_not_found', 'under_attack_unsupported_by_client'] },
  for_secs: { label: text.bans.time },
  reason: { label: text.optional(text.bans.reason) }
}

function TurnOn({ onDone }: { readonly onDone: () => void }) {
  const { field, input, form } = useForm({
    initial: { client: '', for_secs: 'hour' as Time, reason: '' },
    fields,
    save: async ({ client, for_secs, reason }) => {
      const body = { for_secs: times[for_secs], ...(reason.trim() !== '' && { reason: reason.trim() }) }
      if (client === '') await call('PUT /v1/under-attack', { body })
      else await call('PUT /v1/clients/{client_id}/under-attack', { path: { client_id: client }, body })
    },
    notice: () => words.turnedOn,
    onDone
  })
  return (
    <Form {...form} submitLabel={words.turnOn}>
      <Text size="sm">{words.what}</Text>
      <ClientSelect {...field('client')} first={{ value: '', label: text.bans.allClients }} />
      <NativeSelect
        {...input('for_secs')}
        data={Object.keys(times).map(value => ({ value, label: text.bans.times[value as Time] }))}
      />
      <TextInput {...input('reason')} maxLength={256} />
    </Form>
  )
}

interface TurnOffProps {
  readonly active: Switch
  readonly onClose: () => void
}

/** The switch for new clients applies to all clients, so turning it off does, too. */
const TurnOff = ({ active: { client_id, client_name }, onClose }: TurnOffProps) => (
  <ConfirmAction
    title={words.offTitle(client_name ?? text.bans.allClients)}
    action={words.turnOff}
    run={() =>
      client_id === null
        ? call('DELETE /v1/under-attack')
        : call('DELETE /v1/clients/{client_id}/under-attack', { path: { client_id } })
    }
    notice={words.turnedOff}
    onClose={onClose}
  >
    <Text>{words.offText}</Text>
  </ConfirmAction>
)
