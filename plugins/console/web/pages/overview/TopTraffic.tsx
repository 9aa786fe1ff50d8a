import { Paper, SimpleGrid, Text, Title } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { call, type Reply } from '../../api/call.ts'
import { useRight } from '../../api/rights.ts'
import { bytes } from '../../format.ts'
import { PageLink } from '../../parts/page/PageLink.tsx'
import { QuerySection } from '../../parts/page/QuerySection.tsx'
import { ShortList } from '../../parts/ShortList.tsx'
import { UsageBar } from '../../parts/UsageBar.tsx'
import { text } from '../../text/text.ts'
import { ranges } from '../traffic/traffic-history.ts'

type Row = Reply<'GET /v1/traffic/top'>[number]
type By = 'rule' | 'client' | 'owner' | 'target'

const maxRows = 5
const ofAll: readonly By[] = ['rule', 'client', 'owner']
const ofTenant: readonly By[] = ['rule', 'target']

const pageOf: Readonly<Partial<Record<By, (key: string) => string>>> = {
  rule: key => `/rules/${key}`,
  client: key => `/clients/${key}`,
  owner: key => `/users/${encodeURIComponent(key)}`
}

/** Ranks rules, clients, users or targets by their bytes in the last 24 hours. */
export function TopTraffic() {
  const rankings = useRight('seesAll') ? ofAll : ofTenant
  const top = useQuery({
    queryKey: ['top', rankings],
    refetchInterval: 30_000,
    queryFn: () => {
      const to = Math.ceil(Date.now() / 60_000) * 60
      const query = { limit: maxRows, from: to - ranges.day, to }
      return Promise.all(
        rankings.map(async by => ({
          by,
          rows: await call('GET /v1/traffic/top', { query: { ...query, by } })
        }))
      )
    }
  })
  return (
    <QuerySection query={top} title={text.overview.top}>
      {found => (
        <SimpleGrid cols={{ base: 1, sm: rankings.length }} spacing="lg">
          {found.map(({ by, rows }) => (
            <Paper key={by} withBorder p="md">
              <Title order={3} size="h6" mb="sm">
                {text.overview.topBy[by]}
              </Title>
              <ShortList rows={rows} idOf={({ key }) => key} empty={text.traffic.empty}>
                {row => <Ranked by={by} row={row} most={totalOf(rows[0])} />}
              </ShortList>
            </Paper>
          ))}
        </SimpleGrid>
      )}
    </QuerySection>
  )
}

function Ranked({ by, row, most }: { readonly by: By; readonly row: Row; readonly most: number }) {
  const to = row.key.startsWith('_') ? undefined : pageOf[by]?.(row.key)
  const name = row.name ?? row.key
  return (
    <div className="ranked">
      <Text truncate title={name}>
        {to === undefined ? name : <PageLink to={to}>{name}</PageLink>}
      </Text>
      <UsageBar share={totalOf(row) / most} tone="good" label={bytes(totalOf(row))} />
    </div>
  )
}

const totalOf = (row: Row | undefined): number => (row ? row.bytes_in + row.bytes_out : 0)
