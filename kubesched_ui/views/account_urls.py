"""URLs of accounts, used if accounts are enabled: a selection of allauth's URLs under its names, and our own."""

from allauth.account import views as allauth
from allauth.socialaccount import views as external
from allauth.socialaccount.providers.openid_connect import views as openid_connect

from kubesched_ui.accounts.permissions import (
    ADMINS,
    ANYONE,
    OPEN,
    USERS,
    Permission,
    by_admins,
    by_owners,
    by_users,
    path,
)
from kubesched_ui.views import account, sharing, user_groups

urlpatterns = [
    path("account/login/", allauth.login, ANYONE, "account_login"),
    path("account/logout/", allauth.logout, ANYONE, "account_logout"),
    path("account/signup/", allauth.signup, ANYONE, "account_signup"),
    path("account/inactive/", allauth.account_inactive, ANYONE, "account_inactive"),
    path("account/password/", allauth.password_change, by_users("change password"), "account_change_password"),
    path("account/password/set/", allauth.password_set, by_users("change password"), "account_set_password"),
    path("account/oidc/cancelled/", external.login_cancelled, ANYONE, "socialaccount_login_cancelled"),
    path("account/oidc/error/", external.login_error, ANYONE, "socialaccount_login_error"),
    path("account/oidc/signup/", external.signup, ANYONE, "socialaccount_signup"),
    path("account/<str:provider_id>/login/", openid_connect.login, ANYONE, "openid_connect_login"),
    path("account/<str:provider_id>/login/callback/", openid_connect.callback, ANYONE, "openid_connect_callback"),
    path("account/", account.account, Permission(USERS), "account"),
    path("account/name/", account.rename, by_users("change name"), "account-rename"),
    path("account/tokens/", account.make_token, by_users("create token"), "token-make"),
    path("account/tokens/<int:number>/revoke/", account.drop_token, by_users("revoke token"), "token-revoke"),
    path(
        "account/sign-out-everywhere/",
        account.sign_out_everywhere,
        by_users("sign out everywhere"),
        "sign-out-everywhere",
    ),
    path("account/log/", account.log, Permission(USERS), "audit"),
    path("account/invitations/", account.invited, Permission(ADMINS), "invitations"),
    path("account/invitations/make/", account.invite, by_admins("invite"), "invite"),
    path("account/invitations/<int:number>/revoke/", account.uninvite, by_admins("revoke invitation"), "uninvite"),
    path("account/invitation/<str:token>/", account.invitation, ANYONE, "invitation"),
    path("account/groups/", user_groups.groups, by_users("create group"), "people"),
    path("account/groups/<int:number>/", user_groups.group, Permission(USERS), "group-of-people"),
    path("account/groups/<int:number>/add/", user_groups.add, by_users("add to group"), "group-add"),
    path("account/groups/<int:number>/invite/", user_groups.invite, by_users("invite to group"), "group-invite"),
    path(
        "account/groups/<int:number>/remove/<int:user_id>/",
        user_groups.remove,
        by_users("remove from group"),
        "group-remove",
    ),
    path("account/groups/<int:number>/delete/", user_groups.delete, by_users("delete group"), "group-delete"),
    path("shared/<str:token>/", sharing.shared, Permission(OPEN), "shared"),
    path("scenarios/<int:scenario_id>/shares/", sharing.shares, by_owners("share"), "scenario-shares"),
    path(
        "scenarios/<int:scenario_id>/shares/<int:number>/revoke/",
        sharing.revoke,
        by_owners("revoke share"),
        "scenario-unshare",
    ),
    path("runs/<int:run_id>/shares/", sharing.shares, by_owners("share"), "run-shares"),
    path("runs/<int:run_id>/shares/<int:number>/revoke/", sharing.revoke, by_owners("revoke share"), "run-unshare"),
]
