import { Button, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { type Row, rows } from '../../api/call.ts'
import { useRight } from '../../api/rights.ts'
import { count } from '../../format.ts'
import { Dialog } from '../../parts/dialog/Dialog.tsx'
import { PlainTable } from '../../parts/PlainTable.tsx'
import { PageLink } from '../../parts/page/PageLink.tsx'
import { Section } from '../../parts/page/Section.tsx'
import { text } from '../../text/text.ts'
import { formatValue } from '../rules/detail/format-value.ts'
import { LimitsOnClient } from '../users/LimitsOnClient.tsx'
import { useLimits } from '../users/limits.ts'
import type { Client } from './queries.ts'

type Owner = Row<'GET /v1/clients/{client_id}/owners'>

/** Owners of rules on the client, each with the limits for all of their rules. */
export function ClientOwners({ client }: { readonly client: Client }) {
  const path = { client_id: client.client_id }
  const [chosen, choose] = useState<string | null>(null)
  const mayChange = useRight('managesAll')
  const owners = useQuery({
    queryKey: ['owners', client.client_id],
    queryFn: () => rows('GET /v1/clients/{client_id}/owners', { path })
  })
  if (!owners.data || owners.data.length === 0) return null
  return (
    <Section title={text.clients.owners}>
      <PlainTable
        label={text.clients.owners}
        columns={[
          { title: text.rules.owner },
          { title: text.pages.rules, numeric: true },
          { title: text.clients.limits },
          ...(mayChange ? [{ title: text.clients.change }] : [])
        ]}
        rows={owners.data.map(owner => ({
          key: owner.owner_id,
          cells: toCells(client, owner, mayChange ? () => choose(owner.owner_id) : null)
        }))}
      />
      <Dialog
        isOpen={chosen !== null}
        onClose={() => choose(null)}
        title={text.clients.limitsOf(chosen ?? '')}
        size="lg"
      >
        {chosen !== null && (
          <LimitsOnClient
            user={chosen}
            client_id={client.client_id}
            name={client.client_name}
            onDone={() => choose(null)}
          />
        )}
      </Dialog>
    </Section>
  )
}

const toCells = (client: Client, owner: Owner, onChange: (() => void) | null) => [
  owner.owner_id,
  <PageLink key="rules" to={`/rules?client=${client.client_id}&owner=${encodeURIComponent(owner.owner_id)}`}>
    {count(owner.rule_count)}
  </PageLink>,
  <Limits key="limits" client={client} owner={owner} />,
  ...(onChange
    ? [
        <Button
          key="change"
          size="compact-xs"
          variant="default"
          aria-label={text.clients.changeLimits(owner.owner_id)}
          onClick={onChange}
        >
          {text.clients.change}
        </Button>
      ]
    : [])
]

function Limits({ client, owner }: { readonly client: Client; readonly owner: Owner }) {
  const { data } = useLimits(owner.has_rate_limit ? client.client_id : '', owner.owner_id)
  if (!owner.has_rate_limit) return '–'
  if (!data) return '…'
  return (
    <>
      {formatValue(data.value.rate_limit)}
      {!data.value.enforced && (
        <Text span size="xs" c="dimmed">
          {' '}
          {text.clients.notEnforced}
        </Text>
      )}
    </>
  )
}
