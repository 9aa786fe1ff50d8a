import { Paper, Stack } from '@mantine/core'
import { useState } from 'react'
import { Empty } from '../../parts/EmptyState.tsx'
import { Loaded } from '../../parts/QueryResult.tsx'
import { Section } from '../../parts/Section.tsx'
import { text } from '../../text/text.ts'
import { EdgeSelect } from '../clients/ClientSelect.tsx'
import { useEdges } from '../clients/queries.ts'
import { LimitsOnEdge } from './LimitsOnClient.tsx'

interface Props {
  readonly user: string
  readonly mayChange?: true
}

/** The limits of all rules of a user on one edge together. */
export function Limits({ user, mayChange }: Props) {
  const edges = useEdges()
  const [chosen, choose] = useState('')
  const edge = edges.data?.find(({ client_id }) => client_id === chosen) ?? edges.data?.[0]
  return (
    <Section title={text.limits.title} note={text.limits.text}>
      <Loaded query={edges}>
        {() =>
          edge === undefined ? (
            <Empty what={text.limits.noEdges} />
          ) : (
            <Paper withBorder p="md">
              <Stack>
                <EdgeSelect label={text.grants.edge} value={edge.client_id} onChange={choose} />
                <LimitsOnEdge
                  key={edge.client_id}
                  {...{ user, mayChange }}
                  client_id={edge.client_id}
                  name={edge.client_name}
                />
              </Stack>
            </Paper>
          )
        }
      </Loaded>
    </Section>
  )
}
