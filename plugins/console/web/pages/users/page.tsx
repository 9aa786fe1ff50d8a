import { Button } from '@mantine/core'
import { Link, Route, Switch, useLocation } from 'wouter'
import { Dialog } from '../../parts/Dialog.tsx'
import { Empty } from '../../parts/EmptyState.tsx'
import { Head } from '../../parts/PageHead.tsx'
import { Loaded } from '../../parts/QueryResult.tsx'
import { Table } from '../../parts/table/Table.tsx'
import { text } from '../../text/text.ts'
import { columns } from './columns.tsx'
import { NewUser } from './NewUser.tsx'
import { useUsers } from './queries.ts'
import { Detail } from './UserDetail.tsx'

export default function Users() {
  return (
    <Switch>
      <Route path="/users/:id">{({ id }) => (id === 'new' ? <List /> : <Detail key={id} id={id} />)}</Route>
      <Route>
        <List />
      </Route>
    </Switch>
  )
}

function List() {
  const users = useUsers()
  const [path, go] = useLocation()
  return (
    <>
      <Head title={text.pages.users}>
        <Button component={Link} href="/users/new">
          {text.users.add}
        </Button>
      </Head>
      <Loaded query={users}>
        {rows => (
          <Table
            name="users"
            what={text.users.what}
            rows={rows}
            columns={columns}
            idOf={({ user_id }) => user_id}
            empty={<Empty what={text.users.empty} />}
          />
        )}
      </Loaded>
      <Dialog isOpen={path === '/users/new'} onClose={() => go('/users')} title={text.users.add}>
        <NewUser onDone={id => go(id === null ? '/users' : `/users/${id}`)} />
      </Dialog>
    </>
  )
}
