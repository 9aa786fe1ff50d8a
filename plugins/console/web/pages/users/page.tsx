import { Button } from '@mantine/core'
import { Link, Route, Switch, useLocation } from 'wouter'
import { Dialog } from '../../parts/Dialog.tsx'
import { PageHead } from '../../parts/PageHead.tsx'
import { QueryTable } from '../../parts/table/QueryTable.tsx'
import { text } from '../../text/text.ts'
import { NewUser } from './NewUser.tsx'
import { useUsers } from './queries.ts'
import { UserDetail } from './UserDetail.tsx'
import { userColumns } from './user-columns.tsx'

export default function Users() {
  return (
    <Switch>
      <Route path="/users/:id">
        {({ id }) => (id === 'new' ? <List /> : <UserDetail key={id} id={id} />)}
      </Route>
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
      <PageHead title={text.pages.users}>
        <Button component={Link} href="/users/new">
          {text.users.add}
        </Button>
      </PageHead>
      <QueryTable
        query={users}
        name="users"
        what={text.users.what}
        columns={userColumns}
        idOf={({ user_id }) => user_id}
        empty={text.users.empty}
      />
      <Dialog isOpen={path === '/users/new'} onClose={() => go('/users')} title={text.users.add}>
        <NewUser onDone={id => go(id === null ? '/users' : `/users/${id}`)} />
      </Dialog>
    </>
  )
}
