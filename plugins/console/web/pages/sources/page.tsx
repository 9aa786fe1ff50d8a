import { useQuery } from '@tanstack/react-query'
import { type Row, rows } from '../../api/call.ts'
import { useRight } from '../../api/rights.ts'
import { EmptyState } from '../../parts/EmptyState.tsx'
import { ListAndDetail } from '../../parts/page/ListAndDetail.tsx'
import { ListPage } from '../../parts/page/ListPage.tsx'
import { countColumn, linkColumn, timeColumn } from '../../parts/table/columns.tsx'
import { QueryTable } from '../../parts/table/QueryTable.tsx'
import type { Column } from '../../parts/table/rows.ts'
import { text } from '../../text/text.ts'
import { NewSourceList } from './NewSourceList.tsx'
import { SourceListDetail } from './SourceListDetail.tsx'

type List = Row<'GET /v1/source-lists'>

const columns: readonly Column<List>[] = [
  linkColumn('name', text.sources.name, ({ name }) => [`@${name}`, `/sources/${name}`]),
  countColumn('entry_count', text.sources.count, { width: 6 }),
  countColumn('rule_count', text.pages.rules, { width: 6 }),
  timeColumn('updated_at', text.sources.updated, { format: 'ago' })
]

export default function Sources() {
  return <ListAndDetail path="/sources" list={SourceLists} detail={SourceListDetail} />
}

function SourceLists() {
  const mayAdd = useRight('managesAll')
  const lists = useQuery({ queryKey: ['source-lists'], queryFn: () => rows('GET /v1/source-lists') })
  return (
    <ListPage
      path="/sources"
      title={text.pages.sources}
      addLabel={text.sources.add}
      mayAdd={mayAdd}
      form={go => <NewSourceList onDone={name => go(`/sources/${name}`)} />}
    >
      {addButton => (
        <QueryTable
          query={lists}
          name="sources"
          what={text.sources.what}
          columns={columns}
          idOf={({ name }) => name}
          empty={<EmptyState what={text.sources.empty}>{addButton}</EmptyState>}
        />
      )}
    </ListPage>
  )
}
