import { Anchor, Paper, SimpleGrid, Text, Title } from '@mantine/core'
import { Link } from 'wouter'
import { ago, time } from '../../format.ts'
import { Empty } from '../../parts/Empty.tsx'
import { Head } from '../../parts/Head.tsx'
import { Loaded } from '../../parts/Loaded.tsx'
import { State } from '../../parts/State.tsx'
import { Table } from '../../parts/table/Table.tsx'
import { text } from '../../text/text.ts'
import { columns } from '../rules/columns.tsx'
import { useRules } from '../rules/queries.ts'
import { type Edge, useEdges } from './queries.ts'

export function Detail({ id }: { readonly id: string }) {
  const edges = useEdges()
  const rules = useRules()
  return (
    <Loaded query={edges}>
      {all => {
        const edge = all.find(({ client_id }) => client_id === id)
        if (!edge) return <Missing />
        return (
          <>
            <Anchor component={Link} href="/edges" size="sm">
              {text.pages.edges}
            </Anchor>
            <Head title={edge.client_name}>
              <State of={edge.state} />
            </Head>
            <Facts edge={edge} />
            <Title order={2} size="h4" mt="xl" mb="sm">
              {text.edges.rules}
            </Title>
            <Loaded query={rules}>
              {rows => (
                <Table
                  name="edge-rules"
                  what={text.rules.what}
                  rows={rows.filter(
                    rule => rule.client_id === id || rule.edges?.some(at => at.client_id === id)
                  )}
                  columns={columns}
                  idOf={({ rule_id }) => rule_id}
                  empty={<Empty what={text.rules.empty} />}
                />
              )}
            </Loaded>
          </>
        )
      }}
    </Loaded>
  )
}

const Missing = () => (
  <>
    <Head title={text.pages.edges} />
    <Empty what={text.edges.none}>
      <Anchor component={Link} href="/edges">
        {text.pages.edges}
      </Anchor>
    </Empty>
  </>
)

const Facts = ({
  edge: { address, agent_version, remote_addr, last_seen_at, enrolled_at }
}: {
  readonly edge: Edge
}) => (
  <Paper withBorder p="md">
    <SimpleGrid cols={{ base: 2, sm: 5 }} component="dl" m={0}>
      <Fact name={text.edges.address} value={address} />
      <Fact name={text.edges.version} value={agent_version} />
      <Fact name={text.edges.from} value={remote_addr} />
      <Fact name={text.edges.seen} value={last_seen_at && ago(last_seen_at)} />
      <Fact name={text.edges.enrolled} value={time(enrolled_at)} />
    </SimpleGrid>
  </Paper>
)

const Fact = ({ name, value }: { readonly name: string; readonly value: string | null }) => (
  <div>
    <Text component="dt" size="sm" c="dimmed">
      {name}
    </Text>
    <Text component="dd" m={0}>
      {value ?? '–'}
    </Text>
  </div>
)
