import { Alert, Button, Group } from '@mantine/core'
import { useMemo } from 'react'
import { Link } from 'wouter'
import { useMe } from '../../api/me.ts'
import { EmptyState } from '../../parts/EmptyState.tsx'
import { Fact, Facts } from '../../parts/Facts.tsx'
import { PageHead } from '../../parts/PageHead.tsx'
import { PageLink } from '../../parts/PageLink.tsx'
import { QueryResult } from '../../parts/QueryResult.tsx'
import { Section } from '../../parts/Section.tsx'
import { StateLabel } from '../../parts/StateLabel.tsx'
import { Timestamp } from '../../parts/Timestamp.tsx'
import { Table } from '../../parts/table/Table.tsx'
import { text } from '../../text/text.ts'
import { isOn } from '../rules/filters.ts'
import { useRules } from '../rules/queries.ts'
import { ruleColumns } from '../rules/rule-columns.tsx'
import { ClientActions } from './ClientActions.tsx'
import { ClientOwners } from './ClientOwners.tsx'
import { type Client, useClients, useClientsById } from './queries.ts'

export function ClientDetail({ id }: { readonly id: string }) {
  const clients = useClients()
  const isSuperadmin = useMe().data?.role === 'superadmin'
  return (
    <QueryResult query={clients}>
      {all => {
        const client = all.find(({ client_id }) => client_id === id)
        if (!client) return <Missing />
        return (
          <>
            <PageLink to="/clients">{text.pages.clients}</PageLink>
            <PageHead title={client.client_name}>
              <StateLabel state={client.state} />
              {isSuperadmin && <ClientActions client={client} />}
            </PageHead>
            {client.state === 'disconnected' && (
              <Alert color="orange" variant="default" mb="lg" role="status">
                {text.clients.offlineHint}
              </Alert>
            )}
            <ClientFacts client={client} />
            <Rules id={id} />
            {isSuperadmin && <ClientOwners client={client} />}
            <Capabilities client={client} />
          </>
        )
      }}
    </QueryResult>
  )
}

const Missing = () => (
  <>
    <PageHead title={text.pages.clients} />
    <EmptyState what={text.clients.none}>
      <PageLink to="/clients" size="md">
        {text.pages.clients}
      </PageLink>
    </EmptyState>
  </>
)

function Rules({ id }: { readonly id: string }) {
  const rules = useRules()
  const clients = useClientsById()
  const columns = useMemo(() => ruleColumns(clients).filter(column => column.id !== 'client'), [clients])
  return (
    <Section
      title={text.clients.rules}
      actions={
        <Group gap="sm">
          <PageLink to={`/rules?client=${id}`}>{text.clients.inList}</PageLink>
          <PageLink to={`/connections?client=${id}`}>{text.pages.connections}</PageLink>
          <Button component={Link} href={`/rules/new?client=${id}`} variant="default" size="xs">
            {text.rules.add}
          </Button>
        </Group>
      }
    >
      <QueryResult query={rules}>
        {rows => (
          <Table
            name="client-rules"
            what={text.rules.what}
            rows={rows.filter(rule => isOn(rule, id))}
            columns={columns}
            idOf={({ rule_id }) => rule_id}
            empty={text.clients.noRules}
          />
        )}
      </QueryResult>
    </Section>
  )
}

function ClientFacts({ client }: { readonly client: Client }) {
  const labels = Object.entries(client.labels)
  return (
    <Facts>
      <Fact name={text.clients.address}>{client.address}</Fact>
      <Fact name={text.clients.version}>{client.agent_version}</Fact>
      <Fact name={text.clients.from}>{client.remote_addr}</Fact>
      <Fact name={text.clients.seen}>
        {client.connected
          ? text.clients.now
          : client.last_seen_at && <Timestamp at={client.last_seen_at} format="ago" />}
      </Fact>
      <Fact name={text.clients.enrolled}>
        <Timestamp at={client.enrolled_at} />
      </Fact>
      {client.connected_at !== null && (
        <Fact name={text.clients.connectedSince}>
          <Timestamp at={client.connected_at} />
        </Fact>
      )}
      {client.revoked_at !== null && (
        <Fact name={text.states.revoked}>
          <Timestamp at={client.revoked_at} />
        </Fact>
      )}
      <Fact name={text.fields['labels'] ?? ''}>
        {labels.length === 0 ? null : labels.map(([key, value]) => `${key}=${value}`).join(', ')}
      </Fact>
    </Facts>
  )
}

/** Capabilities that the agent last reported. */
function Capabilities({ client: { capabilities } }: { readonly client: Client }) {
  if (capabilities === null) return null
  return (
    <Section title={text.clients.capabilities}>
      <ul className="words">
        {Object.entries(capabilities)
          .sort(([a], [b]) => (a < b ? -1 : 1))
          .map(([id, since]) => (
            <li key={id}>
              {id} <span>{since}</span>
            </li>
          ))}
      </ul>
    </Section>
  )
}
