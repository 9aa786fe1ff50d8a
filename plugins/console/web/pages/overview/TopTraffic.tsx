import { SimpleGrid, Text, Title } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { call, type Reply } from '../../api/call.ts'
import { useRight } from '../../api/rights.ts'
import { bytes } from '../../format.ts'
import { PageLink } from '../../parts/page/PageLink.tsx'
import { Section } from '../../parts/page/Section.tsx'
import { QueryResult } from '../../parts/QueryResult.tsx'
import { UsageBar } from '../../parts/UsageBar.tsx'
import { text } from '../../text/text.ts'
import { ranges } from '../traffic/traffic-history.ts'

type Row = Reply<'GET /v1/traffic/top'>[number]
type By = 'rule' | 'client' | 'owner' | 'target'

const maxRows = 5

const pageOf: Readonly<Partial<Record<By, (key: string) => string>>> = {
  rule: key => `/rules/${key}`,
  client: key => `/clients/${key}`,
  owner: key => `/users/${encodeURIComponent(key)}`
}

/** Ranks rules, clients, users or targets by their bytes in the last 24 hours. */
export function TopTraffic() {
  const seesAll = useRight('seesAll')
  const rankings: readonly By[] = seesAll ? ['rule', 'client', 'owner'] : ['rule', 'target']
  return (
    <Section title={text.overview.top}>
      <SimpleGrid cols={{ base: 1, sm: rankings.length }} spacing="xl">
        {rankings.map(by => (
          <Ranking key={by} by={by} />
        ))}
      </SimpleGrid>
    </Section>
  )
}

function Ranking({ by }: { readonly by: By }) {
  const top = useQuery({
    queryKey: ['top', by],
    refetchInterval: 30_000,
    queryFn: () => {
      const to = Math.ceil(Date.now() / 60_000) * 60
      return call('GET /v1/traffic/top', { query: { by, limit: maxRows, from: to - ranges.day, to } })
    }
  })
  return (
    <div>
      <Title order={3} size="h6" mb="xs">
        {text.overview.topBy[by]}
      </Title>
      <QueryResult query={top}>
        {rows =>
          rows.length === 0 ? (
            <Text c="dimmed" size="sm">
              {text.traffic.empty}
            </Text>
          ) : (
            <ol className="ranking">
              {rows.map(row => (
                <li key={row.key}>
                  <Ranked by={by} row={row} most={totalOf(rows[0])} />
                </li>
              ))}
            </ol>
          )
        }
      </QueryResult>
    </div>
  )
}

function Ranked({ by, row, most }: { readonly by: By; readonly row: Row; readonly most: number }) {
  const to = row.key.startsWith('_') ? undefined : pageOf[by]?.(row.key)
  const name = row.name ?? row.key
  return (
    <>
      <Text size="sm" truncate title={name}>
        {to === undefined ? name : <PageLink to={to}>{name}</PageLink>}
      </Text>
      <UsageBar share={totalOf(row) / most} tone="good" label={bytes(totalOf(row))} />
    </>
  )
}

const totalOf = (row: Row | undefined): number => (row ? row.bytes_in + row.bytes_out : 0)
