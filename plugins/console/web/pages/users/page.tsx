import { useRight } from '../../api/rights.ts'
import { ListAndDetail } from '../../parts/page/ListAndDetail.tsx'
import { ListPage } from '../../parts/page/ListPage.tsx'
import { QueryTable } from '../../parts/table/QueryTable.tsx'
import { text } from '../../text/text.ts'
import { NewUser } from './NewUser.tsx'
import { useUsers } from './queries.ts'
import { UserDetail } from './UserDetail.tsx'
import { userColumns } from './user-columns.tsx'

export default function Users() {
  return <ListAndDetail path="/users" list={UserList} detail={UserDetail} />
}

function UserList() {
  const users = useUsers()
  const mayAdd = useRight('managesUsers')
  return (
    <ListPage
      path="/users"
      title={text.pages.users}
      addLabel={text.users.add}
      mayAdd={mayAdd}
      form={go => <NewUser onDone={id => go(id === null ? '/users' : `/users/${id}`)} />}
    >
      {() => (
        <QueryTable
          query={users}
          name="users"
          what={text.users.what}
          columns={userColumns}
          idOf={({ user_id }) => user_id}
          empty={text.users.empty}
        />
      )}
    </ListPage>
  )
}
