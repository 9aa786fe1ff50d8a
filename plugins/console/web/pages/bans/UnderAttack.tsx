import { Button, Group, NativeSelect, Stack, Text } from '@mantine/core'
import { useMutation, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { call, rows } from '../../api/client.ts'
import { Loaded } from '../../parts/Loaded.tsx'
import { Section } from '../../parts/Section.tsx'
import { When } from '../../parts/When.tsx'
import { text } from '../../text/text.ts'
import { useEdges } from '../edges/queries.ts'

const all = ''

/** The switch that tightens the limits for each source on all rules, of one edge or of all, for a time. */
export function UnderAttack() {
  const edges = useEdges()
  const [edge, choose] = useState(all)
  const switched = useQuery({ queryKey: ['under-attack'], queryFn: () => rows('GET /v1/under-attack') })
  const turnOn = useMutation({
    mutationFn: async (client_id: string): Promise<void> => {
      if (client_id === all) await call('PUT /v1/under-attack', { body: {} })
      else await call('PUT /v1/clients/{client_id}/under-attack', { path: { client_id }, body: {} })
    }
  })
  const turnOff = useMutation({
    mutationFn: (client_id: string) =>
      client_id === all
        ? call('DELETE /v1/under-attack')
        : call('DELETE /v1/clients/{client_id}/under-attack', { path: { client_id } })
  })
  const names = (edges.data ?? []).map(({ client_id, client_name }) => ({
    value: client_id,
    label: client_name
  }))
  return (
    <Section title={text.underAttack.title} note={text.underAttack.note}>
      <Group align="end" mb="md">
        <NativeSelect
          label={text.underAttack.where}
          data={[{ value: all, label: text.underAttack.all }, ...names]}
          value={edge}
          onChange={event => choose(event.currentTarget.value)}
        />
        <Button variant="default" loading={turnOn.isPending} onClick={() => turnOn.mutate(edge)}>
          {text.underAttack.on}
        </Button>
        <Button variant="default" loading={turnOff.isPending} onClick={() => turnOff.mutate(edge)}>
          {text.underAttack.off}
        </Button>
      </Group>
      <Loaded query={switched}>
        {found => (
          <Stack gap="xs" role="status">
            {found.length === 0 && <Text c="dimmed">{text.underAttack.none}</Text>}
            {found.map(({ client_id, client_name, until, reason }) => (
              <Text key={client_id ?? all}>
                {client_name ?? text.underAttack.later} · {text.underAttack.until} <When at={until} />
                {reason ? ` · ${reason}` : ''}
              </Text>
            ))}
          </Stack>
        )}
      </Loaded>
    </Section>
  )
}
