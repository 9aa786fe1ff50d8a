import { Paper, Stack } from '@mantine/core'
import { useState } from 'react'
import { EmptyState } from '../../parts/EmptyState.tsx'
import { Section } from '../../parts/page/Section.tsx'
import { QueryResult } from '../../parts/QueryResult.tsx'
import { text } from '../../text/text.ts'
import { ClientSelect } from '../clients/ClientSelect.tsx'
import { useClients } from '../clients/queries.ts'
import { LimitsSummary } from './LimitsSummary.tsx'

interface Props {
  readonly user: string
  readonly mayChange: boolean
}

/** Limits for all rules of a user, on a selected client. */
export function UserLimits({ user, mayChange }: Props) {
  const clients = useClients()
  const [chosen, choose] = useState('')
  const client = clients.data?.find(({ client_id }) => client_id === chosen) ?? clients.data?.[0]
  return (
    <Section title={text.limits.title} note={text.limits.text}>
      <QueryResult query={clients}>
        {() =>
          client === undefined ? (
            <EmptyState what={text.limits.noClients} />
          ) : (
            <Paper withBorder p="md">
              <Stack>
                <ClientSelect label={text.grants.client} value={client.client_id} onChange={choose} />
                <LimitsSummary
                  key={client.client_id}
                  user={user}
                  mayChange={mayChange}
                  client_id={client.client_id}
                  name={client.client_name}
                />
              </Stack>
            </Paper>
          )
        }
      </QueryResult>
    </Section>
  )
}
