import { Button } from '@mantine/core'
import { Link, useLocation } from 'wouter'
import { Dialog } from '../../parts/Dialog.tsx'
import { Empty } from '../../parts/Empty.tsx'
import { Head } from '../../parts/Head.tsx'
import { Loaded } from '../../parts/Loaded.tsx'
import { Table } from '../../parts/table/Table.tsx'
import { text } from '../../text/text.ts'
import { useEdges } from '../edges/queries.ts'
import { Actions } from './Actions.tsx'
import { columns } from './columns.tsx'
import { NewRule } from './NewRule.tsx'
import { useRules } from './queries.ts'

export default function Rules() {
  const rules = useRules()
  const edges = useEdges()
  const [path, go] = useLocation()
  const add = (
    <Button component={Link} href="/rules/new">
      {text.rules.add}
    </Button>
  )
  return (
    <>
      <Head title={text.pages.rules}>{add}</Head>
      <Loaded query={rules}>
        {rows => (
          <Table
            name="rules"
            what={text.rules.what}
            rows={rows}
            columns={columns}
            idOf={({ rule_id }) => rule_id}
            empty={<Empty what={text.rules.empty}>{add}</Empty>}
            actions={(selected, clear) => <Actions rules={selected} onDone={clear} />}
          />
        )}
      </Loaded>
      <Dialog isOpen={path === '/rules/new'} onClose={() => go('/rules')} title={text.rules.title}>
        <Loaded query={edges}>{found => <NewRule edges={found} onDone={() => go('/rules')} />}</Loaded>
      </Dialog>
    </>
  )
}
