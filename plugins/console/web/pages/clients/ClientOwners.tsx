import { Anchor, Button, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { Link } from 'wouter'
import { type Row, rows } from '../../api/call.ts'
import { count } from '../../format.ts'
import { Dialog } from '../../parts/Dialog.tsx'
import { PlainTable } from '../../parts/PlainTable.tsx'
import { Section } from '../../parts/Section.tsx'
import { text } from '../../text/text.ts'
import { inWords } from '../rules/detail/format-value.ts'
import { LimitsOnEdge } from '../users/LimitsOnClient.tsx'
import { useLimits } from '../users/limits.ts'
import type { Edge } from './queries.ts'

type Owner = Row<'GET /v1/clients/{client_id}/owners'>

/** Whose rules the edge has, and the limits that each owner's rules have there together. */
export function Owners({ edge }: { readonly edge: Edge }) {
  const path = { client_id: edge.client_id }
  const [chosen, choose] = useState<string | null>(null)
  const owners = useQuery({
    queryKey: ['owners', edge.client_id],
    queryFn: () => rows('GET /v1/clients/{client_id}/owners', { path })
  })
  if (!owners.data || owners.data.length === 0) return null
  return (
    <Section title={text.edges.owners}>
      <PlainTable
        label={text.edges.owners}
        columns={[
          { title: text.rules.owner },
          { title: text.pages.rules, numeric: true },
          { title: text.edges.limits },
          { title: text.edges.change }
        ]}
        rows={owners.data.map(owner => ({
          key: owner.owner_id,
          cells: cellsOf(edge, owner, () => choose(owner.owner_id))
        }))}
      />
      <Dialog
        isOpen={chosen !== null}
        onClose={() => choose(null)}
        title={text.edges.limitsOf(chosen ?? '')}
        size="lg"
      >
        {chosen !== null && (
          <LimitsOnEdge
            user={chosen}
            client_id={edge.client_id}
            name={edge.client_name}
            mayChange
            onDone={() => choose(null)}
          />
        )}
      </Dialog>
    </Section>
  )
}

const cellsOf = (edge: Edge, owner: Owner, onChange: () => void) => [
  owner.owner_id,
  <Anchor
    key="rules"
    component={Link}
    href={`/rules?edge=${edge.client_id}&owner=${encodeURIComponent(owner.owner_id)}`}
    size="sm"
  >
    {count(owner.rule_count)}
  </Anchor>,
  <Limits key="limits" edge={edge} owner={owner} />,
  <Button
    key="change"
    size="compact-xs"
    variant="default"
    aria-label={text.edges.changeLimits(owner.owner_id)}
    onClick={onChange}
  >
    {text.edges.change}
  </Button>
]

function Limits({ edge, owner }: { readonly edge: Edge; readonly owner: Owner }) {
  const { data } = useLimits(owner.has_rate_limit ? edge.client_id : '', owner.owner_id)
  if (!owner.has_rate_limit) return '–'
  if (!data) return '…'
  return (
    <>
      {inWords(data.value.rate_limit)}
      {!data.value.enforced && (
        <Text span size="xs" c="dimmed">
          {' '}
          {text.edges.notEnforced}
        </Text>
      )}
    </>
  )
}
